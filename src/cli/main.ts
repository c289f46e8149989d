#!/usr/bin/env node
import { keepCompiledCode } from './compile-cache.js';
import { startEarly } from './early-host.js';

// Only what is imported after it comes from the cache.
keepCompiledCode();
const host = startEarly(process.argv);
const { run } = await import('./run.js');
await run(host);
