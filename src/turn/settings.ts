import fs from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { errnoWords, isErrno, PreimageError } from '../core/problem.js';
import { type ByteString, toText } from '../core/relpath.js';
import { DEFAULT_RETENTION, type Retention } from '../core/retention.js';
import { DEFAULT_RULES, type Rules } from '../core/rules.js';
import { NO_RUN_RULES, type RunRules } from '../core/run-rules.js';
import { parseDuration, parseSize } from '../core/units.js';

/** Where settings that should stay are kept, at the root. */
const SETTINGS_FILE = '.preimage.json';

/** What a caller may say of the rules; what is left out comes from the settings, then the defaults. */
export type RuleOptions = {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** Bytes, 0 for no limit. */
  readonly maxFile?: number;
};

/** Puts together what a step covers: what the caller says wins over the settings file, list by list. */
export function resolveRules(root: ByteString, options: RuleOptions): Rules {
  const settings = readSettings(join(toText(root).text, SETTINGS_FILE));
  return {
    include: options.include ?? settings.include ?? DEFAULT_RULES.include,
    exclude: options.exclude ?? settings.exclude ?? DEFAULT_RULES.exclude,
    maxFile: options.maxFile ?? settings.maxFile ?? DEFAULT_RULES.maxFile,
  };
}

/** What a caller may say of the time that an opening has. */
export type BudgetOptions = {
  /** Milliseconds, 0 for as long as it takes. What is not copied by then is declared, and skipped. */
  readonly budget?: number;
};

/** Gives the time that an opening has: what the caller says, else the settings file. */
export function resolveBudget(root: ByteString, options: BudgetOptions): number | 'none' {
  const settings = readSettings(join(toText(root).text, SETTINGS_FILE));
  const budget = options.budget ?? settings.budget ?? 0;
  if (!Number.isFinite(budget) || budget < 0) {
    throw new PreimageError('usage', `${budget} cannot be a time budget.`, {
      hint: 'It is a number of milliseconds, 0 for as long as it takes.',
    });
  }
  return budget === 0 ? 'none' : budget;
}

/** How an opening finds what changed: it looks at every file, or asks watchman. */
export type ScanSetting = 'full' | 'watchman';

/** Says how openings find what changed; only the settings file says so. */
export function resolveScan(root: ByteString): ScanSetting {
  return readSettings(join(toText(root).text, SETTINGS_FILE)).scan ?? 'full';
}

/** What a caller may say of what a run may change; see {@link RunRules}. */
export type RunRuleOptions = {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
};

/** Puts together what a run may change: what the caller says wins over the settings file, list by list. */
export function resolveRunRules(root: ByteString, options: RunRuleOptions): RunRules {
  const settings = readSettings(join(toText(root).text, SETTINGS_FILE));
  return {
    allow: options.allow ?? settings.allow ?? NO_RUN_RULES.allow,
    deny: options.deny ?? settings.deny ?? NO_RUN_RULES.deny,
  };
}

/** Puts together how much history is kept: what the settings file says, then the defaults. */
export function resolveRetention(root: ByteString): Retention {
  const settings = readSettings(join(toText(root).text, SETTINGS_FILE));
  return {
    keep: settings.keep ?? DEFAULT_RETENTION.keep,
    olderThan: settings.olderThan ?? DEFAULT_RETENTION.olderThan,
    maxSize: settings.maxSize ?? DEFAULT_RETENTION.maxSize,
  };
}

// `strictObject` takes a list for an object without fields.
const NotAList = v.check((value: unknown) => !Array.isArray(value), 'it must be an object');

const Globs = v.array(v.pipe(v.string(), v.minLength(1)));

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

const Size = v.pipe(
  v.union([Count, v.string()]),
  v.transform((size) => (typeof size === 'number' ? size : parseSize(size))),
  v.number('a size is bytes or a text such as "8MB"'),
);

const Duration = v.pipe(
  v.union([v.literal(0), v.string()]),
  v.transform((text) => (text === 0 ? 0 : parseDuration(text))),
  v.number('a duration is a text such as "30d", "12h" or "10s"'),
);

const SettingsSchema = v.strictObject({
  include: v.optional(Globs),
  exclude: v.optional(Globs),
  maxFile: v.optional(Size),
  budget: v.optional(Duration),
  allow: v.optional(Globs),
  deny: v.optional(Globs),
  keep: v.optional(Count),
  olderThan: v.optional(Duration),
  maxSize: v.optional(Size),
  scan: v.optional(v.picklist(['full', 'watchman'])),
});

function readSettings(path: string): v.InferOutput<typeof SettingsSchema> {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return {};
    throw new PreimageError('usage', `Cannot read ${path}: ${errnoWords(error)}.`);
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), NotAList, SettingsSchema), text);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const where = v.getDotPath(issue);
  throw new PreimageError(
    'usage',
    `${path}${where === null ? '' : `, ${where}`}: ${issue.message}.`,
    {
      hint:
        'It may hold include, exclude, allow and deny (lists of globs), maxFile and maxSize (sizes), ' +
        'keep (a number of turns), olderThan (such as "30d"), budget (such as "10s") and ' +
        'scan ("full" or "watchman").',
    },
  );
}
