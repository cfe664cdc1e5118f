// Summarizes the results of many calls by API: a table row for each, and everything that should not have happened.
import type { Outcome } from './checked-requests.ts';
import type { FaultWindow } from './fault-cycle.ts';

export interface CallOutcome extends Outcome {
  api: string;
}

/** Refusals for overload, with each API's message; resumable streams are limited to 64 MiB in total. */
const overload = [
  /^410 stream_expired$/,
  /overloaded|system_busy|^message More requests are waiting/,
  /503 at the handshake$/,
  /status code:? 503/,
];
/** The failures that docs/reliability.md names for faults, and the errors of broken connections. */
const faulty = [
  /storage_unavailable|storage_full|engine_(unavailable|error|timeout)|stream_expired|^50[024] .*internal_error/,
  /^message The speech engine has failed repeatedly|^message Storage is unavailable/,
  /^broken$|^no answer|^closed 10(06|11|12)$|^50[24] at the handshake$|^(UNAVAILABLE|INTERNAL|UNKNOWN|CANCELLED) \(.*\)$/,
];
const isOneOf = (forms: readonly RegExp[], { outcome }: CallOutcome) => forms.some((form) => form.test(outcome));

const isOk = ({ outcome }: CallOutcome) => outcome === 'ok';
const isWrong = ({ outcome }: CallOutcome) => outcome.startsWith('WRONG');

function countOf(calls: readonly CallOutcome[]): string {
  const counts = [...Map.groupBy(calls, ({ outcome }) => outcome.split('\n')[0]!)].map(
    ([outcome, some]) => [outcome, some.length] as const,
  );
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
}

export function toTable(calls: readonly CallOutcome[], touchedBy: (call: CallOutcome) => FaultWindow | undefined) {
  const lines = ['| API | calls | by no fault touched | by a fault touched |', '|---|---|---|---|'];
  const unexpected: string[] = [];
  for (const [api, some] of [...Map.groupBy(calls, (call) => call.api)].sort()) {
    const { calm = [], touched = [] } = Object.groupBy(some, (call) => (touchedBy(call) ? 'touched' : 'calm'));
    lines.push(`| ${api} | ${some.length} | ${countOf(calm)} | ${countOf(touched)} |`);
    for (const call of some) {
      if (isOk(call) || isOneOf(overload, call)) continue;
      const fault = touchedBy(call);
      if (fault && !isWrong(call) && isOneOf(faulty, call)) continue;
      const at = (call.endedMs / 1000).toFixed(1);
      unexpected.push(
        `${api}: ${call.outcome.split('\n')[0]} at ${at} s, ${fault ? `while ${fault.name}` : 'by no fault'}`,
      );
    }
  }
  const bytes = calls.reduce((sum, call) => sum + call.bytes, 0);
  return { lines, unexpected, bytes, wrong: calls.filter(isWrong).map(({ api, outcome }) => `${api}: ${outcome}`) };
}
