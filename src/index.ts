/**
 * The library of preimage: open a turn around anything that changes files, see what it touched, put
 * it back byte for byte.
 *
 * @packageDocumentation
 */
export { type Attribute, type Attributes, listAttributes } from './core/attributes.js';
export type { LineOrigin } from './core/blame.js';
export {
  type Change,
  type ChangeCounts,
  type ChangeKind,
  changedAttributes,
  changeKind,
  countChanges,
} from './core/change.js';
export { betweenWords } from './core/foreign-words.js';
export type { GitMove } from './core/git/moves.js';
export type { Head as GitHead } from './core/git/refs.js';
export type { GitReport } from './core/git/report.js';
export type { WorkStep } from './core/history.js';
export type {
  Absent,
  Content,
  DirectoryImage,
  FifoImage,
  FileImage,
  Image,
  Sha256,
  Skipped,
  SymlinkImage,
} from './core/image.js';
export type { Outcome, OutcomeKind } from './core/outcome.js';
export { DIFF_LIMITS, type DiffLimits } from './core/patch/text-diff.js';
export { printable, printableText } from './core/printable.js';
export { errnoWords, PreimageError, type ProblemCode } from './core/problem.js';
export {
  type ByteString,
  fromText,
  nameOf,
  parentOf,
  type RelPath,
  toText,
} from './core/relpath.js';
export { DEFAULT_RETENTION, type Retention } from './core/retention.js';
export { DEFAULT_MAX_FILE, type Rules } from './core/rules.js';
export type { Breach, RunRules } from './core/run-rules.js';
export { looksSecret } from './core/secrets.js';
export type { ForeignEdit, IntervalName, SquashedChange } from './core/squash.js';
export { formatDuration, formatSize, parseDuration, parseSize } from './core/units.js';
export { type AnchorReport, type ChainHead, chainHead, checkAnchor } from './turn/anchor.js';
export type {
  Audit,
  AuditDiff,
  AuditFile,
  AuditLimits,
  AuditRequest,
  AuditTurn,
} from './turn/audit.js';
export type { Blame, BlamedLine } from './turn/blame.js';
export type { ClosedStep } from './turn/close-step.js';
export { type Check, doctor } from './turn/doctor.js';
export type { Finding } from './turn/findings.js';
export { closeTurn, type HookOptions, openHook } from './turn/hooks.js';
export { type HostProcess, startHostProcess } from './turn/host-process.js';
export type { LineCounts } from './turn/line-counts.js';
export { type LiveChange, type LiveOptions, watchLive } from './turn/live.js';
export type { WhichWorkspace } from './turn/locate.js';
export type { OpenedStep } from './turn/open-step.js';
export type { PassingPath } from './turn/passing.js';
export { makePatch, type Patch, type PatchOptions, type ReadImage } from './turn/patch.js';
export type { PruneResult } from './turn/prune.js';
export type {
  Timeline,
  TurnReport,
  TurnStatus,
  TurnSummary,
  WatchEvent,
} from './turn/report.js';
export type { RewindResult } from './turn/rewind.js';
export { type CommandResult, runCommand } from './turn/run-command.js';
export type { SearchHit, SearchMatch } from './turn/search.js';
export { type OpenTurn, type OpenTurnOptions, openTurn } from './turn/session.js';
export type { BudgetOptions, RuleOptions, RunRuleOptions } from './turn/settings.js';
export type { Stats } from './turn/stats.js';
export { type Status, workspaceStatus } from './turn/status.js';
export { openStore, type RewindRequest, type Store } from './turn/store.js';
export { storeHome } from './turn/store-home.js';
export { type VerifyOptions, type VerifyReport, verifyStore } from './turn/verify.js';
export { type WatchCommandOptions, type Watched, watchCommand } from './turn/watch-command.js';
export type { WriteReportOptions } from './turn/write-report.js';
