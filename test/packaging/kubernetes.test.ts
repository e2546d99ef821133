import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Config } from '../../src/config/config.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { load } from '../config/load-config.js';

const read = (...path: string[]) => readFileSync(join(packageRoot, ...path), 'utf8');

interface Mounted {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}
interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}
interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly Mounted[];
}
interface Named {
  readonly name: string;
}
interface Pod {
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly [Container];
  readonly volumes: readonly (Named & Readonly<Record<string, unknown>>)[];
}
interface StatefulSet {
  readonly replicas: number;
  readonly template: { readonly spec: Pod };
  readonly volumeClaimTemplates: readonly { readonly metadata: Named }[];
}

// Kubernetes reads YAML 1.1, where 0400 is octal.
const parts = parseAllDocuments(read('packaging/kubernetes/rosterd.yaml'), { version: '1.1' }).map(
  (document) =>
    document.toJS() as {
      readonly kind: string;
      readonly spec: unknown;
      readonly data?: Record<string, string>;
    },
);
const specOf = <Spec>(kind: string): Spec => parts.find((part) => part.kind === kind)?.spec as Spec;
const set = specOf<StatefulSet>('StatefulSet');
const pod = set.template.spec;
const [container] = pod.containers;
const configuration = (): Config =>
  load(JSON.parse(parts.find(({ kind }) => kind === 'ConfigMap')?.data?.['config.json'] ?? '')).config;

test('on Kubernetes, one pod runs as the user of the image, read-only and without rights', () => {
  const user = Number(/^USER (\d+):\1$/m.exec(read('packaging/docker/Dockerfile'))?.[1]);
  expect(set.replicas).toBe(1);
  expect(pod.securityContext).toMatchObject({
    ...{ runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user },
    fsGroupChangePolicy: 'OnRootMismatch',
  });
  expect(container.securityContext).toEqual({
    ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  });
  expect([pod.enableServiceLinks, pod.automountServiceAccountToken]).toEqual([false, false]);
});

test('on Kubernetes, each place that the image writes to is a claim of its own, and every mount has its volume', () => {
  const claims = set.volumeClaimTemplates.map(({ metadata }) => metadata.name);
  const written = /^VOLUME (.+)$/m.exec(read('packaging/docker/Dockerfile'))?.[1]?.split(' ') ?? [];
  const places = new Map(container.volumeMounts.map(({ name, mountPath }) => [mountPath, name]));
  expect(written.map((place) => places.get(place)).sort()).toEqual(claims.toSorted());
  expect([...places.values()].sort()).toEqual([...claims, ...pod.volumes.map(({ name }) => name)].sort());
  const secrets = pod.volumes.find(({ name }) => name === 'secrets')?.secret;
  // With the group of the volume, that becomes 0440, which rosterd accepts of a file of root.
  expect(secrets).toEqual({ secretName: 'rosterd', defaultMode: 0o400 });
});

test('on Kubernetes, the configuration is valid, writes into volumes only, and reads secrets that the page creates', () => {
  const config = configuration();
  expect(config.database).toEqual({ kind: 'sqlite', file: '/data/mirror.db' });
  const folders = [config.backup, config.exports, config.lake, config.vault].map(({ folder }) => folder);
  for (const folder of folders) expect(folder).toMatch(/^\/(?:data|credentials)\//);
  const files = [
    ...config.sources.map(({ access }) => (access.kind === 'token' ? access.token.file : undefined)),
    config.receiver?.secrets[0]?.file,
    ...(config.console?.auth?.tokens ?? []).map((one) => one.token.file),
  ];
  const mounted = container.volumeMounts.find(({ name }) => name === 'secrets')?.mountPath;
  const page = read('docs/deploying.md');
  for (const file of files) {
    const [folder, name] = [file?.slice(0, mounted?.length), file?.slice((mounted?.length ?? 0) + 1)];
    expect(folder).toBe(mounted);
    expect(page).toContain(`--from-file=${name}`);
  }
});

test('on Kubernetes, probes and service use the ports of the configuration, and only /livez may restart the pod', () => {
  const config = configuration();
  const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]));
  expect([ports.get('webhooks'), ports.get('console')]).toEqual([
    config.receiver?.listen?.port,
    config.console?.listen?.port,
  ]);
  const alive = { path: '/livez', port: 'console' };
  expect([container.startupProbe.httpGet, container.livenessProbe.httpGet]).toEqual([alive, alive]);
  // A pod that is not ready gets no webhooks.
  expect(container.readinessProbe.tcpSocket).toEqual({ port: 'webhooks' });
  const service = specOf<{ ports: { name: string; port: number; targetPort: string }[] }>('Service');
  for (const { name, port, targetPort } of service.ports)
    expect([ports.get(targetPort), name]).toEqual([port, targetPort]);
});
