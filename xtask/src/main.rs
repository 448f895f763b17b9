//! Set-up, builds, checks and tests of the workspace.

fn main() {}
