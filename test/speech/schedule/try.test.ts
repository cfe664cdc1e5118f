// Try.
import { test } from 'vitest';
import { simulateClients } from './simulated-streams.ts';
test('try', async () => {
  const rows = [];
  for (const load of [{seats:2,polite:64},{seats:2,polite:64,owners:64},{seats:2,polite:64,waitMsMax:30000,turnMs:400},{seats:2,offered:1,leaveMs:2000},{seats:2,offered:10,leaveMs:2000},{seats:2,offered:10,leaveMs:2000,owners:20},{seats:2,offered:3,leaveMs:2000},{seats:2,offered:10,leaveMs:1000}])
    rows.push({...load, ...await simulateClients(load)});
  console.table(rows);
}, 120000);
