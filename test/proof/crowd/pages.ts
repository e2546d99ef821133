import type { Crowd } from './crowd.js';
import { quantile, say, timed } from './report.js';

const paths = ['/', '/sources', '/sources?q=copper', '/operations', '/status.json', '/metrics', '/readyz'];
const commands = [['status'], ['status', '--json'], ['sources', 'list'], ['sources', 'list', '--json']];
const rounds = 5;

/** How long the pages and commands take that show all sources. */
export async function pages(crowd: Crowd): Promise<void> {
  const address = crowd.hosts[0]?.console ?? '';
  for (const path of paths) {
    const times: number[] = [];
    for (let n = 0; n < rounds; n += 1) times.push(await timed(() => page(`${address}${path}`)));
    say(`  ${path}: first ${Math.round(times[0] ?? 0)} ms, median ${Math.round(quantile(times, 0.5))} ms`);
  }
  for (const args of commands) {
    const millis = await timed(() => crowd.command(...args));
    say(`  rosterd ${args.join(' ')}: ${Math.round(millis)} ms`);
  }
}

async function page(url: string): Promise<void> {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
}
