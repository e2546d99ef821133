import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Secret } from '../../src/config/secrets.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { load } from '../config/load-config.js';

const folder = join(packageRoot, 'packaging', 'docker');
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, object>>;
}

const files = ['compose.yaml', 'compose.production.yaml'] as const;
const composed = (file: string) => parse(read(file), { merge: true }) as Compose;

describe.each(files)('compose file %s', (file) => {
  const { services, secrets, volumes } = composed(file);

  test('every mounted folder, volume and secret exists', () => {
    for (const { volumes: mounts = [], secrets: used = [] } of Object.values(services)) {
      for (const mount of mounts) {
        const [from = ''] = mount.split(':');
        if (from.startsWith('.')) expect(existsSync(join(folder, from)), mount).toBe(true);
        else expect(Object.keys(volumes)).toContain(from);
      }
      for (const secret of used)
        expect(Object.keys(secrets)).toContain(typeof secret === 'string' ? secret : secret.source);
    }
  });

  test('rosterd runs with a read-only root, no capabilities, no new privileges, and a volume for each place it writes to', () => {
    const { rosterd } = services;
    expect(rosterd?.read_only).toBe(true);
    const places = (rosterd?.volumes ?? []).map((mount) => mount.split(':').slice(0, 2));
    for (const volume of ['data', 'ledger', 'credentials'])
      expect(places).toContainEqual([volume, `/${volume}`]);
    for (const service of Object.values(services)) {
      expect(service.cap_drop).toEqual(['ALL']);
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
    }
  });

  test('every published port is bound to loopback', () => {
    const ports = Object.values(services).flatMap(({ ports: published = [] }) => published);
    expect(ports.length).toBeGreaterThan(2);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('the configuration is valid, and the console accepts the host name Prometheus uses', () => {
    const mount = services.rosterd?.volumes?.find((one) => one.split(':')[1] === '/config') ?? '';
    const { config } = load(JSON.parse(read(mount.split(':')[0] ?? '', 'config.json')));
    const scraped = parse(readFileSync(join(folder, '../prometheus/prometheus.yml'), 'utf8')) as {
      scrape_configs: {
        static_configs: { targets: string[] }[];
        authorization: { credentials_file: string };
      }[];
    };
    const [job] = scraped.scrape_configs;
    const [host = '', port = ''] = job?.static_configs[0]?.targets[0]?.split(':') ?? [];
    expect(config.console?.hosts).toContain(host);
    expect(config.console?.listen).toMatchObject({ host: '0.0.0.0', port: Number(port) });
    expect(config.database).toEqual({ kind: 'sqlite', file: '/data/mirror.db' });
    expect(config.platform.caFile).toBeNull();
    // The token is where prometheus.yml reads it.
    const targets = (services.prometheus?.secrets ?? []).map((one) =>
      typeof one === 'string' ? one : one.target,
    );
    expect(job?.authorization.credentials_file).toBe(`/run/secrets/${targets[0]}`);
  });
});

test('with real data, every secret of the configuration is a separate file that one user can read', () => {
  const { services, secrets } = composed('compose.production.yaml');
  const { config } = load(JSON.parse(read('config', 'config.json')));
  const auth = config.console?.auth;
  const named: (Secret | undefined)[] = [
    ...config.sources.map(({ access }) => (access.kind === 'token' ? access.token : undefined)),
    ...(config.receiver?.secrets ?? []),
    ...(auth?.tokens ?? []).map(({ token }) => token),
  ];
  expect(named.map((secret) => secret?.file).sort()).toEqual(
    (services.rosterd?.secrets ?? []).map((name) => `/run/secrets/${name}`).sort(),
  );
  const users = Object.values(services).flatMap(({ secrets: used = [] }) =>
    used.map((one) => (typeof one === 'string' ? one : one.source)),
  );
  expect(users.sort()).toEqual(Object.keys(secrets).sort());
  expect(new Set(Object.values(secrets).map(({ file }) => file)).size).toBe(users.length);
  expect(readFileSync(join(packageRoot, '.gitignore'), 'utf8')).toContain('/packaging/docker/secrets/');
});

test('the demonstration has no valuable secret: Prometheus sends the token given to rosterd', () => {
  const { services, secrets } = composed('compose.yaml');
  const token = readFileSync(join(folder, secrets.console_token?.file ?? ''), 'utf8').trim();
  expect(services.rosterd?.environment).toEqual({ CONSOLE_TOKEN: token });
  expect(token.length).toBeGreaterThanOrEqual(12);
});
