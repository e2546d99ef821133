import { connect } from 'node:net';

/*
 * A process of strangers: `hold.ts PORT COUNT WAY`. Holds that many connections and reopens each that is closed.
 * Prints `ready` once this side has had all of them connected at the same time.
 */
const [port = '', count = '', way = ''] = process.argv.slice(2);

/** What each connection sends first, and then repeatedly. */
const ways: Readonly<Record<string, { first: string; again: string; everyMillis: number }>> = {
  idle: { first: '', again: '', everyMillis: 0 },
  'drip headers': { first: 'POST /webhooks HTTP/1.1\r\nHost: a\r\n', again: 'X-A: b\r\n', everyMillis: 1000 },
  'drip bodies': {
    first:
      'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{',
    again: ' ',
    everyMillis: 1000,
  },
  'keep alive': {
    first: 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n',
    again: 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n',
    everyMillis: 3000,
  },
};
const chosen = ways[way];
if (chosen === undefined) throw new Error(`no such way: ${way}`);
const { first, again, everyMillis } = chosen;

let connected = 0;
function stranger(): void {
  const socket = connect(Number(port), '127.0.0.1');
  let timer: NodeJS.Timeout | undefined;
  socket.on('error', () => {}).resume();
  socket.on('connect', () => {
    connected += 1;
    if (connected === Number(count)) process.stdout.write('ready\n');
    if (first !== '') socket.write(first);
    if (again !== '') timer = setInterval(() => socket.write(again), everyMillis);
  });
  // Reconnecting at once forever would measure how fast this process can connect.
  socket.on('close', () => {
    clearInterval(timer);
    setTimeout(stranger, Math.max(everyMillis, 1000));
  });
}
for (let index = 0; index < Number(count); index += 1) stranger();
