#!/usr/bin/env node
import { keepCompiledCode } from './compile-cache.js';

// Only what is imported after it comes from the cache.
keepCompiledCode();
const { run } = await import('./run.js');
await run();
