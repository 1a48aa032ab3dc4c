//! The check behind `--require-sandbox`: a run starts only where the kernel can hold everything that commands are kept from.

use std::path::PathBuf;

use grove_exec::{
    EnforcedRestriction, KEEPER, Keeper, KeeperOrder, Sandbox, Seclusion, StopTokens,
};
use grove_plan::Plan;
use grove_skills::Environment;

use crate::engines::NATIVE;
use crate::error::EngineError;
use crate::model_settings::ModelSettings;
use crate::supervising::passed_on;

/// Refuses a run some of whose commands would not be held.
pub(crate) fn check(environment: &Environment, plan: &Plan) -> Result<(), EngineError> {
    let refused = |message: String| {
        let hint = "docs/security.md says what each of them needs";
        Err(EngineError::finding(message).hint(hint))
    };
    if !ModelSettings::find(environment).is_sandboxed {
        return refused("`runs.sandbox` is off, and --require-sandbox was given".to_owned());
    }
    let mut children = plan.children();
    if let Some(child) = children.find(|child| child.engine != NATIVE) {
        let engine = &child.engine;
        return refused(format!(
            "engine `{engine}` runs its commands itself, outside the sandbox that --require-sandbox asks for"
        ));
    }
    let held = held_here(environment)?;
    let missing = EnforcedRestriction::ALL
        .into_iter()
        .filter(|it| !held.contains(it));
    let missing: Vec<String> = missing.map(|it| it.to_string()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    refused(format!("this system cannot hold: {}", missing.join(", ")))
}

/// Returns what the kernel holds of a command that does nothing.
fn held_here(environment: &Environment) -> Result<Vec<EnforcedRestriction>, EngineError> {
    let keeper = Keeper::this_program(KEEPER).map_err(EngineError::internal)?;
    let variables = passed_on(environment);
    let order = KeeperOrder {
        command: vec!["/bin/sh".to_owned(), "-c".to_owned(), ":".to_owned()],
        sandbox: Some(Sandbox {
            writes: Vec::new(),
            seclusion: Some(Seclusion::about(&[], &[], &variables)),
        }),
        environment: variables,
        limit_ms: 10_000,
        ..KeeperOrder::shell("", PathBuf::from("/"), "sandbox")
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EngineError::internal)?;
    let never = StopTokens::default();
    let end = runtime.block_on(keeper.run(&order, &never, |_| {}));
    Ok(end.map_err(EngineError::internal)?.report.held)
}
