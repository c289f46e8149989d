import { join } from 'node:path';
import { newestManifest } from '../core/history.js';
import { encodeRecord } from '../core/records.js';
import { BigFiles } from '../store/big-files.js';
import type { CheckedPack } from '../store/check-packs.js';
import type { StoreLayout } from '../store/layout.js';
import { withLock } from '../store/lock.js';
import { rewriteLog } from '../store/log.js';
import { writeLostContents } from '../store/lost-contents.js';
import { indexPath } from '../store/pack-index.js';
import { PackWriter, packPath } from '../store/pack-writer.js';
import { copyRecords } from '../store/repack.js';
import { packName, RetiredList } from '../store/retired.js';
import { copyAside, setAside } from '../store/set-aside.js';
import type { Examined } from './examine.js';
import type { Workspace } from './workspace.js';

/**
 * Sets aside what is damaged in a store that was examined, and makes the rest usable. The caller holds
 * the upkeep lock, and no other process is at work in the store. Deletes nothing. Gives in words what
 * it did.
 *
 * First what is whole is copied and made durable, then what is damaged moves away, then the log is
 * written anew: cut off in between it can be done again.
 */
export function repair({ layout, packs }: Workspace, examined: Examined): string[] {
  packs.close();
  return withLock(layout.locks, 'log', () => {
    const done: string[] = [];
    for (const pack of examined.packs) {
      if (pack.faults.length > 0) done.push(movePack(layout, pack, examined));
    }
    done.push(...moveFiles(layout, examined));
    if (examined.damagedRetiredLines > 0) {
      const list = new RetiredList(layout.packs);
      copyAside(layout.damaged, list.path);
      list.rewrite();
      done.push('packs/retired was written anew without its damaged lines');
    }
    if (!examined.logIsWhole) {
      const aside = copyAside(layout.damaged, layout.log);
      rewriteLog(layout.log, examined.records.map(encodeRecord));
      done.push(`the log was written anew; the damaged one is ${aside}`);
    }
    if (examined.lost.size > 0) {
      writeLostContents(layout.damaged, new Set([...examined.knownLost, ...examined.lost]));
      done.push(`contents that are lost for good: ${examined.lost.size}`);
    }
    return done;
  });
}

/** Copies what is whole in a damaged pack into a new one and moves the damaged one away. */
function movePack(layout: StoreLayout, pack: CheckedPack, examined: Examined): string {
  const { packs, damaged } = layout;
  const writer = new PackWriter(packs, () => false);
  copyRecords(packs, pack.number, {
    offsets: [...pack.good.values()],
    writer,
    repacker: 'none',
  });
  writer.sync();
  const into = writer.number === 'none' ? 'none' : packName(writer.number);
  writer.close();
  // A scan must not take for safe what is lost: with a pack that is lost it reads every file anew.
  const isLost = [...examined.lost].some((sha256) => examined.vouchedFor.has(sha256));
  new RetiredList(packs).add([{ name: packName(pack.number), into: isLost ? 'lost' : into }]);
  const aside = setAside(damaged, packPath(packs, pack.number));
  setAside(damaged, indexPath(packs, pack.number));
  return `${pack.good.size} whole contents of a damaged pack were copied; the pack is ${aside}`;
}

function moveFiles(layout: StoreLayout, examined: Examined): string[] {
  const { details, manifests, big, history, lost, vouchedFor } = examined;
  const done: string[] = [];
  const move = (path: string): void => {
    done.push(`${path} was moved to ${setAside(layout.damaged, path)}`);
  };
  for (const name of details.damaged) move(join(layout.details, name));
  for (const name of manifests.damaged) move(join(layout.manifests, name));
  for (const name of big.damaged) move(new BigFiles(layout.big).path(name));
  // The newest manifest takes for safe what is lost. Without it the next open reads every file.
  const newest = newestManifest(history);
  const isOpen = history.steps.some(
    (step) => step.kind === 'work' && step.end.kind === 'open' && step.open.manifest === newest,
  );
  const isWrong = [...lost].some((sha256) => vouchedFor.has(sha256));
  if (isWrong && !isOpen && manifests.whole.has(newest)) move(join(layout.manifests, newest));
  return done;
}
