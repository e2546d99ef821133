import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Network, Service } from './network.js';
import { type Host, hosts } from './plan.js';

/*
 * Every host is a network namespace with one end of a veth pair; the other ends join a bridge in a namespace of its own.
 * Nothing is added to the network of the machine: deleting the namespaces removes everything.
 *
 * A one-way cut is a permanent entry in the neighbour table of the sender with a hardware address that no host has: its
 * packets leave and arrive nowhere.
 */

const run = promisify(execFile);

/** Runs many commands of `ip` in one process: each start of a process costs a large parent a lot. */
async function ipBatch(options: readonly string[], lines: readonly string[]): Promise<string> {
  const ended = run('ip', [...options, '-batch', '-']);
  ended.child.stdin?.end(`${lines.join('\n')}\n`);
  return (await ended).stdout;
}

const prefix = 'rosterd-torture-';
const nobodysAddress = '02:00:5e:00:53:01';

const ports: Readonly<Record<Service, number>> = {
  platform: 4010,
  'inner platform': 4009,
  sender: 4030,
  'notice receiver': 4020,
  database: 5432,
  receiver: 8787,
  'wire platform': 4110,
  'wire database': 5433,
  'wire notice receiver': 4120,
  'wire a': 4201,
  'wire b': 4202,
  'wire c': 4203,
};

const own: ReadonlySet<Service> = new Set(
  (Object.keys(ports) as Service[]).filter((service) => /^(wire|inner|sender)/.test(service)),
);

/** Returns in one sentence what this machine lacks for network namespaces; null if nothing. */
export function missingForNamespaces(): string | null {
  if (process.platform !== 'linux')
    return `network namespaces exist on Linux only, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'only root may create network namespaces';
  for (const program of ['ip', 'setpriv', 'unshare'])
    if (spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined)
      return `the program ${program} is not installed (Debian: apt-get install iproute2 util-linux)`;
  const name = `${prefix}probe-${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  const linked =
    made.status === 0
      ? spawnSync(
          'ip',
          [
            'link',
            'add',
            'name',
            'probe',
            'netns',
            name,
            'type',
            'veth',
            'peer',
            'name',
            'other',
            'netns',
            name,
          ],
          { encoding: 'utf8' },
        )
      : made;
  spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  return linked.status === 0
    ? null
    : `the kernel refuses network namespaces with veth pairs: ${linked.stderr.trim()}`;
}

/** The time at which a process started, which tells it from a later one with its number; null if there is none. */
export function startOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Removes what a killed run left: its namespaces, and the processes in them. */
export async function sweepNamespaces(): Promise<number> {
  const { stdout } = await run('ip', ['netns', 'list']);
  const dead = stdout.split('\n').flatMap((line) => {
    const [name = ''] = line.split(' ');
    const [, pid, start] = new RegExp(`^${prefix}(\\d+)-(\\d+)-`).exec(name) ?? [];
    return pid !== undefined && startOf(Number(pid)) !== start ? [name] : [];
  });
  await removeNamespaces(dead);
  return dead.length;
}

/** Ends every process in these namespaces and deletes those that exist. */
export async function removeNamespaces(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const each = (command: string) =>
    ipBatch(
      ['-force'],
      names.map((name) => `netns ${command} ${name}`),
    ).catch((error: { readonly stdout?: string }) => error.stdout ?? '');
  for (const pid of (await each('pids')).split('\n').filter((text) => text !== ''))
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  await each('del');
}

export const namespaceNames = (base: string) => [...hosts, 'switch'].map((host) => `${base}${host}`);

export async function openNamespaces(): Promise<Network & { readonly names: readonly string[] }> {
  await sweepNamespaces();
  const base = `${prefix}${process.pid}-${startOf(process.pid)}-${randomBytes(3).toString('hex')}-`;
  const names = namespaceNames(base);
  const nameOf = (host: Host | 'switch') => `${base}${host}`;
  // Any network will do: no address of it leaves the namespaces. Its own for each run makes logs easier to tell apart.
  const [second = 0, third = 0] = randomBytes(2);
  const net = `10.${64 + (second % 64)}.${third}`;
  const addressOf = (host: Host) => `${net}.${hosts.indexOf(host) + 1}`;
  const inside = (host: Host | 'switch', ...args: string[]) => run('ip', ['-n', nameOf(host), ...args]);
  const blocked = new Set<string>();
  const apply = (from: Host, to: Host, isBlocked: boolean) =>
    isBlocked
      ? inside(
          from,
          'neigh',
          'replace',
          addressOf(to),
          'lladdr',
          nobodysAddress,
          'dev',
          'eth0',
          'nud',
          'permanent',
        )
      : inside(from, 'neigh', 'del', addressOf(to), 'dev', 'eth0').catch(() => {});
  const close = () => removeNamespaces(names);
  try {
    await ipBatch(
      [],
      [
        ...names.map((name) => `netns add ${name}`),
        ...hosts.map(
          (host) =>
            `link add name eth0 netns ${nameOf(host)} type veth peer name to-${host} netns ${nameOf('switch')}`,
        ),
      ],
    );
    await ipBatch(
      ['-n', nameOf('switch')],
      [
        'link set lo up',
        'link add name sw type bridge',
        'link set sw up',
        ...hosts.flatMap((host) => [`link set to-${host} master sw`, `link set to-${host} up`]),
      ],
    );
    for (const host of hosts)
      await ipBatch(
        ['-n', nameOf(host)],
        ['link set lo up', `addr add ${addressOf(host)}/24 dev eth0`, 'link set eth0 up'],
      );
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'namespaces',
    names,
    on: (host, command) => ['ip', 'netns', 'exec', nameOf(host), ...command],
    address: (host, service) => ({
      host: own.has(service) ? '127.0.0.1' : addressOf(host),
      port: ports[service],
    }),
    block: async (from, to, isBlocked) => {
      if (isBlocked) blocked.add(`${from}>${to}`);
      else blocked.delete(`${from}>${to}`);
      await apply(from, to, isBlocked);
    },
    vanish: async (host, how, gone) => {
      const state = gone ? 'down' : 'up';
      if (how === 'unplugged') return void (await inside('switch', 'link', 'set', `to-${host}`, state));
      await inside(host, 'link', 'set', 'eth0', state);
      // Without its interface, a host forgets the entries that cut it off from single others.
      if (!gone) for (const to of hosts) if (blocked.has(`${host}>${to}`)) await apply(host, to, true);
    },
    close,
  };
}
