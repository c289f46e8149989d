// @ts-check
// Loaded before a program (`node --require first-call.cjs …`): at its first call of the file system
// below one of the places in FIRST_CALL_UNDER, or when it starts a process, it says how many
// milliseconds after its start that is, and ends.
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { delimiter } = require('node:path');

const places = (process.env.FIRST_CALL_UNDER ?? '').split(delimiter);

/** @param {unknown} path */
function met(path) {
  if (typeof path !== 'string' && !Buffer.isBuffer(path)) return;
  const text = String(path);
  if (places.some((place) => text.startsWith(place))) end();
}

/** @returns {never} */
function end() {
  fs.writeSync(1, `${performance.now()}\n`);
  process.exit(0);
}

/**
 * @template {(...args: any[]) => unknown} F
 * @param {F} original
 * @returns {F}
 */
function noticing(original) {
  /** @type {any} */
  const wrapped = (/** @type {any[]} */ ...args) => {
    met(args[0]);
    return original(...args);
  };
  return Object.assign(wrapped, original);
}

fs.realpathSync.native = noticing(fs.realpathSync.native);
for (const name of /** @type {const} */ ([
  ...['lstatSync', 'statSync', 'openSync', 'opendirSync', 'readdirSync', 'readFileSync'],
  ...['realpathSync', 'existsSync', 'accessSync', 'mkdirSync'],
])) {
  Object.assign(fs, { [name]: noticing(Reflect.get(fs, name)) });
}
// Not loaded here: it takes milliseconds, and those belong to who needs it.
const { getBuiltinModule } = process;
/** @type {any} */
const withEnd = (/** @type {string} */ id) =>
  id === 'node:child_process' ? { ...getBuiltinModule(id), spawn: end } : getBuiltinModule(id);
process.getBuiltinModule = withEnd;
syncBuiltinESMExports();
