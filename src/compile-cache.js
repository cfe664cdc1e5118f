// Imported before all that is large: keeps compiled code between starts, which halves the time of a start. Plain
// JavaScript, so that it is loaded before TypeScript is. A folder that cannot be written is left alone.
import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Threads find it in their environment; those who start processes pass it on.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/sonant', import.meta.url));
// Node versions that are refused do not have it.
module.enableCompileCache?.();
