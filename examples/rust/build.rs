// Generates the stubs from proto/ with the installed protoc.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../../proto");
    tonic_prost_build::configure()
        .build_server(false)
        .compile_protos(&["../../proto/sonant/v1/speech.proto"], &["../../proto"])?;
    Ok(())
}
