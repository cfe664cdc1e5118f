// A page that speaks while you type, and stops when it is interrupted. It opens Sonant's live WebSocket with a ticket
// from its own server (live-server.ts), and never has the API key.
import { openPlayer } from './player.ts';

const sampleRateHz = 24_000;
const field = document.querySelector('textarea')!;
const output = document.querySelector('output')!;
const tell = (line: string) => output.append(`${line}\n`);

let socket: Promise<WebSocket> | undefined;
let playing = new AbortController();
let player: ReturnType<typeof openPlayer> | undefined;
/** Start of each turn in the player's audio, in seconds. */
let turns: { turn: number; atSeconds: number }[] = [];
/** True from an interrupt until Sonant confirms it. */
let isInterrupting = false;
let sent = '';
let sentAt = 0;

async function connect(): Promise<WebSocket> {
  const response = await fetch('ticket', { method: 'POST' });
  if (!response.ok) throw new Error(await response.text());
  const { live_url: url } = await response.json();
  const opened = new WebSocket(url);
  opened.binaryType = 'arraybuffer';
  opened.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') take(JSON.parse(data));
    else play(new Uint8Array(data));
  });
  opened.addEventListener('close', ({ code }) => {
    // The next text opens a new connection.
    socket = undefined;
    tell(`closed: ${code}`);
  });
  await new Promise((resolve, reject) => {
    opened.addEventListener('open', resolve);
    opened.addEventListener('error', () => reject(new Error('the connection was refused')));
  });
  opened.send(JSON.stringify({ type: 'start', voice_id: 'clara', sample_rate: sampleRateHz }));
  return opened;
}

async function send(message: object): Promise<void> {
  try {
    socket ??= connect();
    (await socket).send(JSON.stringify(message));
  } catch (error) {
    socket = undefined;
    tell(`failed: ${error instanceof Error ? error.message : error}`);
  }
}

function play(piece: Uint8Array): void {
  // Drops audio that was in transit at the interrupt.
  if (isInterrupting || !player) return;
  if (sentAt > 0) tell(`first sound after ${Math.round(performance.now() - sentAt)} ms`);
  sentAt = 0;
  player.play(piece);
}

function take(message: Record<string, unknown>): void {
  const { type, turn } = message;
  if (type === 'info' && player && !isInterrupting) turns.push({ turn: Number(turn), atSeconds: player.seconds });
  else if (type === 'flushed') tell(`turn ${turn}: ${message.chars} characters, ${message.duration} s`);
  else if (type === 'interrupted') {
    isInterrupting = false;
    tell(`turn ${turn} heard: ${message.text_spoken}`);
    tell(`turn ${turn} not heard: ${message.text_remaining}`);
  } else if (type === 'error') tell(`failed: ${message.error}: ${message.message}`);
}

/** Sends the newly typed text. Text that was already sent cannot be changed until the turn ends. */
function sendTyped(): void {
  if (!field.value.startsWith(sent)) field.value = sent;
  const text = field.value.slice(sent.length);
  if (text === '') return;
  // Browsers allow audio only after a user gesture, such as this input.
  player ??= openPlayer(sampleRateHz, playing.signal);
  if (sent === '') sentAt = performance.now();
  sent += text;
  void send({ type: 'text', text });
}

function endTurn(): void {
  if (sent === '') return;
  field.value = sent = '';
  void send({ type: 'flush' });
}

function interrupt(): void {
  const played = player?.playedSeconds ?? 0;
  const heard = turns.findLast(({ atSeconds }) => atSeconds <= played);
  playing.abort();
  playing = new AbortController();
  player = undefined;
  turns = [];
  isInterrupting = true;
  field.value = sent = '';
  const at = heard && { turn: heard.turn, played_ms: Math.round((played - heard.atSeconds) * 1000) };
  void send({ type: 'interrupt', ...at });
}

field.addEventListener('input', sendTyped);
field.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing) return;
  event.preventDefault();
  endTurn();
});
document.querySelector('[name=interrupt]')!.addEventListener('click', interrupt);
