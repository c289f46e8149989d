import { openTree } from '../files/tree.js';
import { Devices } from './devices.js';
import type { ScanRequest, ScanResult } from './request.js';
import { Walk } from './walk.js';

/**
 * Looks at every path of a workspace and gives its manifest; bytes that are not in the sink yet go
 * there. Trouble with one path is data in the manifest; only trouble with the root is thrown.
 */
export function scanTree(request: ScanRequest): ScanResult {
  const tree = openTree(request.root);
  try {
    const result = new Walk(request, tree, new Devices(request.store)).run();
    if (result.untold === '') return result;
    const whole: ScanRequest = { ...request, told: 'none' };
    const { untold } = result;
    return { ...new Walk(whole, tree, new Devices(request.store)).run(), untold };
  } finally {
    tree.close();
  }
}
