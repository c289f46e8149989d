import type { ByteString } from './relpath.js';

/**
 * Extended attributes and ACLs as text: a line `name=base64` each, sorted by name, `''` where there are
 * none. Bytes of a name that are no printable ASCII, `=` and `\` stand as three octal digits after a
 * backslash, so a text compares, prints and goes into JSON as it is.
 *
 * Only {@link NAMES_RECORDED} are in it.
 */
export type Attributes = string;

/** One attribute: its name as in {@link Attributes}, its value in base64. */
export type Attribute = { readonly name: string; readonly value: string };

/**
 * Names that are recorded, as an extended regular expression: what users set, ACLs, and what a program
 * may do (capabilities(7)). `trusted.*` and labels such as `security.selinux` are the system's.
 */
export const NAMES_RECORDED =
  '^(user\\..+|system\\.posix_acl_(access|default)|security\\.capability)$';

/** A directory's attribute that what is made in it inherits (acl(5)). */
export const DEFAULT_ACL = 'system.posix_acl_default';

// A NUL in a name would end it early wherever names are handed on.
const LINE =
  /^(?:user\.(?:\\(?!000)[0-3][0-7]{2}|[!-<>-[\]-~])+|system\.posix_acl_(?:access|default)|security\.capability)=[A-Za-z0-9+/]*={0,2}$/;

/** Reports whether a text is in the form of {@link Attributes}. */
export function isAttributes(text: string): boolean {
  return text === '' || text.split('\n').every((line) => LINE.test(line));
}

/** Takes a text of {@link Attributes} apart. */
export function listAttributes(attributes: Attributes): Attribute[] {
  if (attributes === '') return [];
  return attributes.split('\n').map((line) => {
    const at = line.indexOf('=');
    return { name: line.slice(0, at), value: line.slice(at + 1) };
  });
}

/** What has to be set and removed to make one set of attributes another. */
export type AttributeChange = { readonly set: Attribute[]; readonly removed: string[] };

/** Finds what differs between two sets of attributes. */
export function changeOfAttributes(from: Attributes, to: Attributes): AttributeChange {
  const before = valuesOf(from);
  const after = valuesOf(to);
  return {
    set: listAttributes(to).filter(({ name, value }) => before.get(name) !== value),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

/** Lists the names that differ between two sets of attributes. */
export function changedNames(from: Attributes, to: Attributes): string[] {
  const { set, removed } = changeOfAttributes(from, to);
  return [...set.map(({ name }) => name), ...removed].sort();
}

/**
 * Reads what `getfattr --dump --encoding=base64` prints: for each path that has attributes a line
 * `# file: PATH`, a line `name=0sBASE64` each (only the name where the value is empty), a blank line.
 * Undefined where it cannot be understood.
 */
export function parseDump(dump: ByteString): Map<ByteString, Attributes | undefined> {
  const found = new Map<ByteString, Attributes | undefined>();
  for (const record of dump.split('\n\n')) {
    const [head = '', ...lines] = record.split('\n').filter((line) => line !== '');
    if (!head.startsWith(FILE)) continue;
    const attributes = lines.map(attributeLine).sort().join('\n');
    const path = unescapeBytes(head.slice(FILE.length));
    found.set(path, isAttributes(attributes) ? attributes : undefined);
  }
  return found;
}

const FILE = '# file: ';

/** Gives the bytes of a name or path of which some stand as octal digits. */
export function unescapeBytes(text: ByteString): ByteString {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([0-3][0-7]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function attributeLine(line: ByteString): string {
  const at = line.indexOf('=');
  const name = escapeName(unescapeBytes(at < 0 ? line : line.slice(0, at)));
  return `${name}=${at < 0 ? '' : line.slice(at + 1).replace(/^0s/, '')}`;
}

function escapeName(name: ByteString): string {
  return name.replace(
    /[^!-~]|[=\\]/g,
    (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}

function valuesOf(attributes: Attributes): Map<string, string> {
  return new Map(listAttributes(attributes).map(({ name, value }) => [name, value]));
}
