#!/usr/bin/env node
// The program that npm starts. Prepares the process before loading main.ts, which old versions of Node cannot parse.
import './memory.js';
import './start.js';

await import('./main.ts');
