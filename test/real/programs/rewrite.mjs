// Rewrites the files named, each in another of the ways that a Node program has.
import fs from 'node:fs';

const flip = (bytes) => bytes.map((byte) => byte ^ 1);

const WAYS = [
  function wholeFile(name) {
    fs.writeFileSync(name, flip(fs.readFileSync(name)));
  },
  function oneByteInPlace(name) {
    const file = fs.openSync(name, 'r+');
    fs.writeSync(file, Buffer.from('X'), 0, 1, 3);
    fs.closeSync(file);
  },
  function shorter(name) {
    fs.truncateSync(name, 2);
  },
  function byRenameWithTimesPutBack(name) {
    const { atime, mtime } = fs.statSync(name);
    fs.writeFileSync(`${name}.new`, flip(fs.readFileSync(name)));
    fs.renameSync(`${name}.new`, name);
    fs.utimesSync(name, atime, mtime);
  },
  function swappedForLink(name) {
    fs.renameSync(name, `${name}.real`);
    fs.symlinkSync(`${name}.real`, name);
  },
  function swappedForDirectory(name) {
    fs.rmSync(name);
    fs.mkdirSync(name);
    fs.writeFileSync(`${name}/inside`, 'x');
  },
  async function appendedByStream(name) {
    const stream = fs.createWriteStream(name, { flags: 'a' });
    await new Promise((resolve) => stream.end('more\n', resolve));
  },
];

const names = process.argv.slice(2);
for (const [index, name] of names.entries()) await WAYS[index % WAYS.length](name);
