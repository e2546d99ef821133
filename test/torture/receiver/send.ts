import { createHmac } from 'node:crypto';
import { connect } from 'node:net';

/*
 * A process that delivers as the platform does: `send.ts PORT COUNT EVERY_MILLIS INSTALLATION COMPANY`, with the
 * secret in HOOK. Each delivery has its own connection; EVERY_MILLIS 0 sends all at once. Prints one line of JSON.
 */
export interface Sent {
  readonly accepted: number;
  /** By status; `0` means closed without a response. */
  readonly others: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
}

const [port = '', count = '', every = '', installation = '', company = ''] = process.argv.slice(2);
const key = process.env.HOOK ?? '';
const run = `${process.pid}x${Date.now()}`;

function request(number: number): string {
  const body = JSON.stringify({
    id: `evt_${run}x${number}`,
    event: 'investment.changed',
    mode: 'test',
    created_at: new Date().toISOString(),
    installation: { id: installation, target: null, test: false },
    data: { id: 'inv_unheardof', visible: true, company, observed_at: null },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', key).update(`${t}.${body}`).digest('hex');
  const lines = [
    'POST /webhooks HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Service-Signature: t=${t},v1=${v1}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** From the first packet of the connection to the response. */
function deliver(number: number): Promise<{ status: number; millis: number }> {
  return new Promise((resolve) => {
    const begun = performance.now();
    const socket = connect(Number(port), '127.0.0.1');
    const end = (status: number) => {
      resolve({ status, millis: performance.now() - begun });
      socket.destroy();
    };
    socket.on('connect', () => socket.write(request(number)));
    socket.on('data', (chunk) => end(Number(/^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1] ?? 0)));
    socket.on('error', () => end(0)).on('close', () => end(0));
  });
}

const under: Promise<{ status: number; millis: number }>[] = [];
for (let number = 0; number < Number(count); number += 1) {
  under.push(deliver(number));
  if (Number(every) > 0) await new Promise((resolve) => setTimeout(resolve, Number(every)));
}
const done = await Promise.all(under);
const times = done.map(({ millis }) => millis).sort((a, b) => a - b);
const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
const others: Record<string, number> = {};
for (const { status } of done) if (status !== 202) others[status] = (others[status] ?? 0) + 1;
const sent: Sent = {
  accepted: done.filter(({ status }) => status === 202).length,
  others,
  p50: at(0.5),
  p99: at(0.99),
  longest: at(1),
};
process.stdout.write(`${JSON.stringify(sent)}\n`);
process.exit(0);
