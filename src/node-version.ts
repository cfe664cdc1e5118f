// Imported before all else: says clearly that this Node is too old, where later imports would fail in odd ways. A Node
// that does not strip types does not get even here; npm scripts never use one.
const oldest = 24;
const major = Number(process.versions.node.split('.')[0]);
if (major < oldest) {
  process.stderr.write(
    `sonant: needs Node ${oldest} or newer, and this is ${process.version}. npm ci brings the right one: start through npm run.\n`,
  );
  process.exit(1);
}
