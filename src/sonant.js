#!/usr/bin/env node
// The program that npm starts. Prepares the process before main.ts, which an old Node cannot read, is loaded.
import './memory.js';
import './start.js';

await import('./main.ts');
