//! Files that change without their size: the next look is right, also where stamps have whole seconds, and also when
//! they were written through memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use grove_skills::{Environment, Library, Request, View};

use super::effort;

/// Changes a file in place without its size, twice with a look between, and says how often a look was wrong.
fn wrong_looks(folder: &Path, pairs: u64, write: fn(&Path, &str)) -> u64 {
    let root = folder.join("skills");
    let file = root.join("a/SKILL.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir_all(folder.join("home")).unwrap();
    let text = |about: u64| format!("---\nname: a\ndescription: About {about:06}.\n---\n");
    fs::write(&file, text(0)).unwrap();
    let environment = Environment::for_home(folder.join("home"), folder.to_path_buf());
    let request = || Request {
        view: View::Folders(vec![root.clone()]),
        ..Request::default()
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

/// Through a mapping of the file, which is given back after each write.
fn through_memory(file: &Path, text: &str) {
    const PYTHON: &str = "import mmap, sys\nwith open(sys.argv[1], 'r+b') as f:\n m = mmap.mmap(f.fileno(), 0)\n m[:] = sys.argv[2].encode()\n m.flush()\n m.close()\n";
    let done = Command::new("python3")
        .args(["-c", PYTHON])
        .arg(file)
        .arg(text)
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn a_file_of_the_same_size_was_not_seen_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = effort("GROVE_TEST_PAIRS", 100);
    assert_eq!(wrong_looks(folder.path(), pairs, in_place), 0);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(wrong_looks(folder.path(), pairs / 10, through_memory), 0);
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
    match WholeSeconds::mount() {
        Ok(mounted) => {
            let pairs = effort("GROVE_TEST_PAIRS", 100);
            assert_eq!(wrong_looks(&mounted.at, pairs, in_place), 0);
            assert_eq!(wrong_looks(&mounted.at, pairs / 10, through_memory), 0);
        }
        // The rule itself has a test of its own.
        Err(why) => println!("not tried on a file system with whole seconds: {why}"),
    }
}
