// Imported before all else: says clearly that this Node is too old, where later imports would fail in odd ways. Plain
// JavaScript, so that every Node can read it.
const oldest = 24;
const major = Number(process.versions.node.split('.')[0]);
if (major < oldest) {
  process.stderr.write(
    `sonant: needs Node ${oldest} or newer, and this is ${process.version}. npm ci installs it if scripts may run, and npm start uses it.\n`,
  );
  process.exit(1);
}
