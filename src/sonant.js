#!/usr/bin/env node
// What npm starts: checks the Node that runs it before main.ts, which an old Node cannot read, is loaded.
import './node-version.js';
import './lean-memory.js';
import './compile-cache.js';
import './quick-imports.js';

await import('./main.ts');
