#!/usr/bin/env node
// The program that npm starts. Prepares the process before main.ts is loaded, because an old Node cannot parse main.ts.
import './memory.js';
import './start.js';

await import('./main.ts');
