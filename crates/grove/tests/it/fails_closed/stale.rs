//! Files that change without their size: the next look is right, also where stamps have whole seconds, and also when
//! they were written through memory.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use grove_skills::{DiscoveryRequest, DiscoveryView, Environment, Library};
use grove_testkit::need::Need;
use grove_testkit::needs;

use super::effort;

/// Changes a file in place without its size, twice with a look between, and says how often a look was wrong.
fn wrong_looks(folder: &Path, pairs: u64, mut write: impl FnMut(&Path, &str)) -> u64 {
    let root = folder.join("skills");
    let file = root.join("a/SKILL.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir_all(folder.join("home")).unwrap();
    let text = |about: u64| format!("---\nname: a\ndescription: About {about:06}.\n---\n");
    fs::write(&file, text(0)).unwrap();
    let environment = Environment::for_home(folder.join("home"), folder.to_path_buf());
    let request = || DiscoveryRequest {
        view: DiscoveryView::Folders(vec![root.clone()]),
        ..DiscoveryRequest::default()
    };
    let mut living = Library::new(environment.clone(), request());
    let mut wrong = 0;
    for pair in 0..pairs {
        for about in [pair * 2 + 1, pair * 2 + 2] {
            write(&file, &text(about));
            let expected = format!("About {about:06}.");
            let about_of = |library: &mut Library| {
                let look = library.load();
                look.skills[0].description().unwrap_or_default().to_owned()
            };
            wrong += u64::from(about_of(&mut living) != expected);
            // And by a process that begins with what was remembered on disk.
            let mut fresh = Library::new(environment.clone(), request());
            wrong += u64::from(about_of(&mut fresh) != expected);
            fresh.save_cache();
        }
    }
    wrong
}

fn in_place(file: &Path, text: &str) {
    use std::os::unix::fs::FileExt as _;
    let file = fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(text.as_bytes(), 0).unwrap();
}

/// Writes through a mapping of the file, which is given back after each write: a path and a text a line, in JSON.
const PYTHON: &str = "import json, mmap, sys
for line in sys.stdin:
 path, text = json.loads(line)
 with open(path, 'r+b') as f:
  m = mmap.mmap(f.fileno(), 0)
  m[:] = text.encode()
  m.flush()
  m.close()
 print('written', flush=True)
";

/// Somebody who writes so.
struct Mapper {
    python: Child,
    answers: BufReader<ChildStdout>,
}

impl Mapper {
    fn start() -> Self {
        let mut command = Command::new(Need::Python.path());
        command.args(["-c", PYTHON]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = pipes.spawn().unwrap();
        let answers = BufReader::new(python.stdout.take().unwrap());
        Self { python, answers }
    }

    fn write(&mut self, file: &Path, text: &str) {
        let asks = self.python.stdin.as_mut().unwrap();
        writeln!(asks, "{}", serde_json::json!([file, text])).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "written\n");
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        // It ends when nobody asks any more.
        drop(self.python.stdin.take());
        let _ = self.python.wait();
    }
}

/// The same through memory.
fn wrong_looks_through_memory(folder: &Path, pairs: u64) -> u64 {
    let mut mapper = Mapper::start();
    wrong_looks(folder, pairs, |file, text| mapper.write(file, text))
}

#[test]
fn a_file_of_the_same_size_was_not_seen_to_change() {
    needs![Python];
    let folder = tempfile::tempdir().unwrap();
    let pairs = effort("GROVE_TEST_PAIRS", 100);
    assert_eq!(wrong_looks(folder.path(), pairs, in_place), 0);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(wrong_looks_through_memory(folder.path(), pairs), 0);
    println!("{pairs} pairs in place and through memory: 0 wrong looks");
}

/// A file system whose stamps are whole seconds, unmounted when it is dropped.
struct WholeSeconds {
    at: PathBuf,
    _folder: tempfile::TempDir,
}

impl WholeSeconds {
    fn mount() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (image, at) = (folder.path().join("image"), folder.path().join("at"));
        fs::create_dir(&at).map_err(|error| error.to_string())?;
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(16 << 20).map_err(|error| error.to_string())?;
        let run = |program: &str, words: &[&std::ffi::OsStr]| {
            let ran = Command::new(program).args(words).output();
            match ran {
                Ok(done) if done.status.success() => Ok(()),
                Ok(done) => Err(format!(
                    "{program}: {}",
                    String::from_utf8_lossy(&done.stderr).trim()
                )),
                Err(error) => Err(format!("{program}: {error}")),
            }
        };
        run(
            "mkfs.ext4",
            &[
                "-q".as_ref(),
                "-I".as_ref(),
                "128".as_ref(),
                image.as_os_str(),
            ],
        )?;
        run(
            "mount",
            &[
                "-o".as_ref(),
                "loop".as_ref(),
                image.as_os_str(),
                at.as_os_str(),
            ],
        )?;
        Ok(Self {
            at,
            _folder: folder,
        })
    }
}

impl Drop for WholeSeconds {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

#[test]
fn a_file_of_the_same_size_and_second_was_not_seen_to_change() {
    needs![Python];
    match WholeSeconds::mount() {
        Ok(mounted) => {
            let pairs = effort("GROVE_TEST_PAIRS", 100);
            assert_eq!(wrong_looks(&mounted.at, pairs, in_place), 0);
            assert_eq!(wrong_looks_through_memory(&mounted.at, pairs), 0);
            println!("{pairs} pairs each on ext4 with whole seconds: 0 wrong looks");
        }
        // The rule itself has a test of its own.
        Err(why) => println!("not tried on a file system with whole seconds: {why}"),
    }
}
