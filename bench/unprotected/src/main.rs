//! Both ends of a transfer, natively, whose packets are not protected. The first word is `client` or `server`, the flags
//! are those of the transfer components.

#![forbid(unsafe_code)]

async fn run(arguments: Vec<String>) -> u8 {
    sandquic_transfer::peer(arguments.get(1..).unwrap_or_default(), &sandquic_unprotected::OnlyUnprotected)
        .await
}

sandquic::command!(run);
