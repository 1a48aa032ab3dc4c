//! The engines that drive children: the built-in one and the agent programs that are installed here.

use std::path::{Path, PathBuf};

use crate::identity::new_run_id;
use crate::program::{TrialError, try_program};
use grove_exec::{
    KEEPER, Keeper, KeeperOrder, PROGRAMS, Program, ProgramCapabilities, ProgramExit, StopTokens,
};
use grove_fs::programs;
use grove_model::Providers;
use grove_plan::UnobservedCalls;
use grove_skills::Environment;
use grove_skills::environment_variables::PATH;
use grove_spec::engine::EngineName;
use grove_spec::text::one_line;
use serde::Serialize;

use crate::error::{EngineError, with_causes};
use crate::model_settings::ModelSettings;

/// The name of the built-in engine.
pub const NATIVE: &str = "native";
/// A program that does not tell its version within this does not answer.
const VERSION_MS: u64 = 10_000;
/// The same limit while a run waits for the version.
const VERSION_OF_RUN_MS: u64 = 4_000;
/// The bytes that are read of a version: it is a line.
const MOST_VERSION: u64 = 4 << 10;
/// Bytes of a package's manifest that are read.
const MOST_MANIFEST: u64 = 1 << 20;

pub(crate) struct ChosenEngine {
    pub(crate) name: String,
    /// The program's file; none for the built-in one.
    pub(crate) program: Option<PathBuf>,
    /// A line about the choice, where the person had not chosen.
    pub(crate) note: Option<String>,
}

impl ChosenEngine {
    /// Returns the reason why the program cannot do what is asked of it, if there is one.
    pub(crate) fn refusal(&self, has_recording: bool, has_schema: bool) -> Option<String> {
        let program = Program::named(&self.name)?;
        if has_recording && program.apis.is_empty() {
            return Some(format!("{} cannot use a recording", program.title));
        }
        let is_missing = has_schema && !program.can.runtime_tools;
        is_missing.then(|| format!("{} cannot return structured output", program.title))
    }

    /// Itself with the engines that can stand in for it, where it does not tell what its children call.
    pub(crate) fn not_observed(&self) -> Option<UnobservedCalls> {
        let program = Program::named(&self.name).filter(|program| !program.can.calls)?;
        let observed = PROGRAMS.iter().filter(|program| program.can.calls);
        let observed = observed.map(|program| program.name);
        Some(UnobservedCalls {
            engine: program.title.to_owned(),
            observed: std::iter::once(NATIVE).chain(observed).collect(),
        })
    }

    fn native() -> Self {
        Self {
            name: NATIVE.to_owned(),
            program: None,
            note: None,
        }
    }
}

/// The engine of a child: the one that is asked for, else the built-in one if a provider has a key, else the first
/// program that is installed.
pub(crate) fn choose(
    environment: &Environment,
    providers: &Providers,
    asked: Option<&str>,
    has_recording: bool,
) -> Result<ChosenEngine, EngineError> {
    let Some(asked) = asked else {
        let needs_nobody = has_recording || providers.ready().next().is_some();
        let mut programs = PROGRAMS.into_iter();
        let installed = programs.find_map(|it| Some((it, file_of(environment, it)?)));
        return Ok(match installed.filter(|_| !needs_nobody) {
            Some((program, file)) => ChosenEngine {
                name: program.name.to_owned(),
                program: Some(file),
                note: Some(format!(
                    "no provider has a key, so {} is used, with its own login",
                    program.title
                )),
            },
            None => ChosenEngine::native(),
        });
    };
    if asked == NATIVE {
        return Ok(ChosenEngine::native());
    }
    if let Some(EngineName::Acp(command)) = EngineName::of(asked) {
        return chosen_command(environment, asked, &command);
    }
    let Some(program) = Program::named(asked) else {
        let names = std::iter::once(NATIVE).chain(PROGRAMS.iter().map(|program| program.name));
        let names: Vec<&str> = names.collect();
        let message = format!("`{}` is not an engine", one_line(asked));
        let hint = format!("choose one of {}, or `acp:COMMAND`", names.join(", "));
        return Err(EngineError::usage(message).hint(hint));
    };
    let Some(file) = file_of(environment, program) else {
        let message = format!("{} is not installed", program.title);
        let hint = format!("there is no program `{}` in PATH", program.binary);
        return Err(EngineError::finding(message).hint(hint));
    };
    Ok(ChosenEngine {
        name: program.name.to_owned(),
        program: Some(file),
        note: None,
    })
}

/// The engine that is a command of the person's.
fn chosen_command(
    environment: &Environment,
    asked: &str,
    command: &str,
) -> Result<ChosenEngine, EngineError> {
    let name = command.split_whitespace().next().unwrap_or_default();
    let search_path = environment.variables.get(PATH);
    let program = search_path.and_then(|search_path| programs::find(name, search_path));
    let Some(program) = program else {
        let message = format!("there is no program `{}` in PATH", one_line(name));
        return Err(EngineError::finding(message).hint("install it, or name its file"));
    };
    Ok(ChosenEngine {
        name: asked.to_owned(),
        program: Some(program),
        note: None,
    })
}

/// The file of a program: its native one where npm keeps it beside a launcher.
fn file_of(environment: &Environment, program: &Program) -> Option<PathBuf> {
    let search_path = environment.variables.get(PATH)?;
    let found = programs::find(program.binary, search_path)?;
    let real = grove_fs::files::canonical(&found).unwrap_or_else(|_| found.clone());
    let native = real.ancestors().skip(1).take(4).find_map(|folder| {
        let mut places = program.native.iter().map(|native| folder.join(native));
        places.find(|place| grove_fs::files::is_there(place))
    });
    Some(native.unwrap_or(found))
}

/// Returns true if a file says that a person is logged in with a program.
fn has_login(environment: &Environment, program: &Program) -> bool {
    let home = environment.home.as_ref();
    let mut logins = program.logins.iter();
    home.is_some_and(|home| logins.any(|login| grove_fs::files::is_there(&home.join(login))))
}

/// A program that is installed, without having been started.
#[derive(Serialize)]
pub struct InstalledEngine {
    /// The name of the engine.
    pub name: &'static str,
    /// The name of the program for people.
    pub title: &'static str,
    /// The file of the program.
    pub program: PathBuf,
    /// True if a login of its own was found.
    pub login: bool,
}

/// The agent programs that are installed; none of them is started.
pub fn installed(environment: &Environment) -> Vec<InstalledEngine> {
    let installed = PROGRAMS.into_iter().filter_map(|program| {
        Some(InstalledEngine {
            name: program.name,
            title: program.title,
            program: file_of(environment, program)?,
            login: has_login(environment, program),
        })
    });
    installed.collect()
}

/// An agent program as an engine, for `grove engines`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramReport {
    /// The name of the engine.
    pub name: &'static str,
    /// The name of the program for people.
    pub title: &'static str,
    /// True if it is installed.
    pub installed: bool,
    /// The file of the program, where it is installed.
    pub program: Option<PathBuf>,
    /// The version that it says it has.
    pub version: Option<String>,
    /// The versions that were tried.
    pub tried: &'static str,
    /// Variables with keys that are set; never their values.
    pub keys: Vec<&'static str>,
    /// True if a login of its own was found.
    pub login: bool,
    /// The outcome of a turn, where one was tried.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    pub trial: Option<ProgramTrial>,
    /// The capabilities of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can: Option<ProgramCapabilities>,
    /// Features of the program that stay on.
    pub not_switched_off: &'static [&'static str],
}

/// The outcome of one turn with a program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramTrial {
    /// True if it answered.
    pub ok: bool,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The engines of this machine.
#[derive(Serialize)]
pub struct EnginesReport {
    /// The providers that the built-in engine can ask.
    pub providers: Vec<String>,
    /// Every agent program that is known.
    pub programs: Vec<ProgramReport>,
}

/// Looks at every engine; with `try_each` the programs that are installed do one turn.
pub fn report(environment: &Environment, try_each: bool) -> Result<EnginesReport, EngineError> {
    let models = ModelSettings::find(environment);
    let providers = models.providers();
    let providers = providers.ready().map(|it| it.name.clone()).collect();
    let keeper = Keeper::this_program(KEEPER).map_err(EngineError::internal)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EngineError::internal)?;
    let mut programs = Vec::new();
    for program in PROGRAMS {
        let file = file_of(environment, program);
        let version = file
            .as_ref()
            .and_then(|file| runtime.block_on(version(environment, &keeper, file, VERSION_MS)));
        let is_set = |name: &&&str| models.variables.contains_key(**name);
        // A program whose address cannot be set would ask the service that its login is for.
        let trial = file.as_ref().filter(|_| try_each && program.can.base_url);
        let trial = trial.map(|file| {
            let tried = runtime.block_on(try_one(environment, &keeper, program, file));
            ProgramTrial {
                ok: tried.is_ok(),
                why: tried.err().map(|why| one_line(&with_causes(&why))),
            }
        });
        programs.push(ProgramReport {
            name: program.name,
            title: program.title,
            installed: file.is_some(),
            program: file,
            version,
            tried: program.tried,
            keys: program.variables.iter().filter(is_set).copied().collect(),
            login: has_login(environment, program),
            trial,
            can: Some(program.can),
            not_switched_off: program.not_switched_off,
        });
    }
    Ok(EnginesReport {
        providers,
        programs,
    })
}

impl ProgramReport {
    /// The capabilities that it lacks, in words.
    pub fn missing(&self) -> Vec<&'static str> {
        self.can.map_or_else(Vec::new, ProgramCapabilities::missing)
    }
}

/// Lets a program do one turn in a folder of its own.
async fn try_one(
    environment: &Environment,
    keeper: &Keeper,
    program: &'static Program,
    file: &std::path::Path,
) -> Result<(), TrialError> {
    let folder = environment
        .temporary
        .join(format!("grove-try-{}", new_run_id()));
    let variables = ["PATH", "HOME"].into_iter().filter_map(|name| {
        let value = environment.variables.get(name)?.to_str()?;
        Some((name.to_owned(), value.to_owned()))
    });
    let tried = try_program(program, file, keeper, variables.collect(), &folder).await;
    let _ = grove_fs::files::remove_folder(&folder);
    tried
}

/// The version of a program's file: of the package that it lies in, else what it says itself.
pub(crate) fn version_of(environment: &Environment, file: &Path) -> Option<String> {
    version_of_package(file).or_else(|| {
        let keeper = Keeper::this_program(KEEPER).ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(version(environment, &keeper, file, VERSION_OF_RUN_MS))
    })
}

/// The version of the npm package that a file lies in: nothing has to be started for it.
fn version_of_package(file: &Path) -> Option<String> {
    let real = grove_fs::files::canonical(file).ok()?;
    let mut folders = real.ancestors().skip(1).take(6);
    let manifest = folders.find_map(|folder| {
        let is_package = folder
            .components()
            .any(|part| part.as_os_str() == "node_modules");
        let manifest = folder.join("package.json");
        (is_package && grove_fs::files::is_there(&manifest)).then_some(manifest)
    })?;
    let text = grove_fs::files::read_bounded(&manifest, MOST_MANIFEST).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let version = value.get("version")?.as_str()?;
    // A package for one platform says so behind its version.
    let version = version.split('-').next().unwrap_or(version);
    Some(one_line(version))
}

/// Returns the version that a program says it has: the first word with digits and dots. It is asked in an empty home,
/// since one program writes to its home even then.
async fn version(
    environment: &Environment,
    keeper: &Keeper,
    file: &Path,
    limit_ms: u64,
) -> Option<String> {
    // A mark of its own, since every process with the same mark is ended with it.
    let mark = format!("grove-version-{}", new_run_id());
    let home = environment.temporary.join(&mark);
    grove_fs::files::make_folder(&home).ok()?;
    let path = environment.variables.get("PATH")?.to_str()?;
    let order = KeeperOrder {
        command: vec![file.to_string_lossy().into_owned(), "--version".to_owned()],
        environment: vec![
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), home.to_string_lossy().into_owned()),
        ],
        limit_ms,
        most_output: MOST_VERSION,
        ..KeeperOrder::shell("", home.clone(), &mark)
    };
    let end = keeper.run(&order, &StopTokens::default(), |_| {}).await;
    let _ = grove_fs::files::remove_folder(&home);
    let end = end.ok()?;
    if end.report.exit != ProgramExit::Code(0) {
        return None;
    }
    let text = end.output.text();
    let mut words = text.split_whitespace();
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    words
        .find(is_version)
        .map(|word| one_line(word.trim_end_matches('.')))
}
