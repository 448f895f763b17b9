//! The server of files as a native program of its own, as `sandquic serve --native` runs it.

async fn run(arguments: Vec<String>) -> u8 {
    sandquic_web::serve::run(arguments.get(1..).unwrap_or_default()).await
}

#[cfg(not(target_family = "wasm"))]
sandquic::command!(run);

#[cfg(target_family = "wasm")]
fn main() {}
