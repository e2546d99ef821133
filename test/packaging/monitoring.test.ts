import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startDaemon } from '../../src/daemon/daemon.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { configFor, freshFolder, partsFor, sandboxFor } from '../daemon/daemon-fixture.js';
import { freePort } from '../support/free-port.js';

const packaged = (...path: string[]) => join(packageRoot, 'packaging', ...path);
const read = (...path: string[]) => readFileSync(packaged(...path), 'utf8');

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}
interface Board {
  readonly panels: readonly {
    readonly targets: readonly { readonly expr: string; readonly legendFormat?: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
}

const alerts = (parse(read('prometheus', 'alerts.yml')) as Rules).groups.flatMap(({ rules }) => rules);
const board = JSON.parse(read('grafana', 'rosterd.json')) as Board;

const queries = [
  ...alerts.map(({ expr }) => expr),
  ...board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...board.templating.list
    .filter(({ query }) => query.startsWith('label_values'))
    .map(({ query }) => query.replace(/label_values\((\w+), (\w+)\)/, '$1{$2=""}')),
];

test('alerts and dashboard use only metrics and labels that a running daemon publishes', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 40 });
  const receiver = { port: await freePort(), secret: 'a-secret-nobody-signs-with' };
  const daemon = await startDaemon(partsFor(configFor(sandbox, { folder: freshFolder(), receiver })));
  await daemon.engine.sync.idle();
  const text = await (await fetch(`${daemon.consoleUrl}/metrics`)).text();
  await daemon.close();
  const labels = new Map<string, Set<string>>();
  const labelsOf = (name: string) => labels.get(name) ?? new Set(['instance', 'job']);
  labels.set('up', labelsOf('up'));
  for (const [, name = '', inside = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const seen = labelsOf(name);
    for (const [, label = ''] of inside.matchAll(/(\w+)="/g)) seen.add(label);
    labels.set(name, seen);
  }

  expect(queries.length).toBeGreaterThan(25);
  for (const query of queries) {
    const asked = [...query.matchAll(/\b(rosterd_\w+|process_\w+|up)\b(?:\{([^}]*)\})?/g)];
    expect(asked, query).not.toEqual([]);
    for (const [, name = '', inside = ''] of asked) {
      expect([...labels.keys()], query).toContain(name);
      for (const [, label] of inside.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
        expect([...labelsOf(name)], query).toContain(label);
    }
    const known = new Set(asked.flatMap(([, name = '']) => [...labelsOf(name)]));
    for (const [, names = ''] of query.matchAll(/\bby \(([^)]*)\)/g))
      for (const name of names.split(/,\s*/)) expect([...known], query).toContain(name);
  }
});

test('no two alert rules have the same name and labels, which promtool reports as a failure', () => {
  const named = alerts.map(({ alert, labels }) => JSON.stringify([alert, labels]));
  expect(named).toEqual([...new Set(named)]);
});

test('every alert has a test case in which it fires', () => {
  const trials = parse(readFileSync(join(packageRoot, 'test/packaging/alerts.test.yml'), 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const fired = trials.tests.flatMap(({ alert_rule_test: asked }) =>
    asked.filter(({ exp_alerts: expected }) => expected.length > 0).map(({ alertname }) => alertname),
  );
  expect(fired.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

describe('Grafana provisioning of the dashboard', () => {
  const compose = ['compose.yaml', 'compose.production.yaml'].map(
    (file) => [file, parse(read('docker', file)) as Compose] as const,
  );

  test.each(compose)(
    '%s mounts the provisioning files and the dashboard where Grafana reads them',
    (_, { services }) => {
      const mounts = new Map(
        (services.grafana?.volumes ?? []).map((volume) => {
          const [from = '', to = ''] = volume.split(':');
          return [to, from] as const;
        }),
      );
      const at = (path: string) => packaged('docker', mounts.get(path) ?? 'not mounted');
      const source = parse(
        readFileSync(join(at('/etc/grafana/provisioning/datasources'), 'prometheus.yaml'), 'utf8'),
      ) as Provisioned;
      const provider = parse(
        readFileSync(join(at('/etc/grafana/provisioning/dashboards'), 'rosterd.yaml'), 'utf8'),
      ) as Provisioned;
      expect([source.apiVersion, provider.apiVersion]).toEqual([1, 1]);
      expect(source.datasources?.map(({ type, url, isDefault }) => [type, url, isDefault])).toEqual([
        ['prometheus', 'http://prometheus:9090', true],
      ]);
      expect(Object.keys(services)).toContain('prometheus');
      const folder = provider.providers?.[0]?.options.path ?? '';
      const dashboard = `${folder}/rosterd.json`;
      expect(existsSync(at(dashboard))).toBe(true);
      expect(services.grafana?.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH).toBe(dashboard);
    },
  );
});

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      | { readonly volumes?: readonly string[]; readonly environment?: Readonly<Record<string, string>> }
      | undefined
    >
  >;
}
interface Provisioned {
  readonly apiVersion: number;
  readonly datasources?: readonly {
    readonly type: string;
    readonly url: string;
    readonly isDefault: boolean;
  }[];
  readonly providers?: readonly { readonly options: { readonly path: string } }[];
}
