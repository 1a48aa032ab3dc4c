//! The parts of the project's own commands (`xtask`, benchmarks): arguments, the workspace, steps with deadlines.

pub mod arguments;
pub mod step;
pub mod workspace;
