import { dirname, join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { run, TrialFailed } from './command.js';

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const wanted = [
  ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'config.example.json'],
  ...['bin/rosterd.js', 'dist/cli/main.js', 'dist/cli/start.js', 'dist/index.js', 'dist/index.d.ts'],
  ...[
    'dist/console/assets/console.css',
    'dist/console/assets/editor.js',
    'schema/rosterd.1',
    'schema/config.schema.json',
    'docs/library.md',
  ],
];

const belongs = [
  /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md|config\.example\.json)$/,
  /^bin\/rosterd\.js$/,
  /^dist\/.+(?:\.js|\.d\.ts|\/assets\/[a-z]+\.(?:css|svg))$/,
  /^(?:schema|packaging|docs)\/.+$/,
];

/** The files of a package, and its maximum size. */
const sizeMax = 1_500_000;

/** Packs the clone into the folder and checks the content. Returns the path of the package. */
export async function pack(folder: string): Promise<string> {
  const place = { cwd: packageRoot, path: [dirname(process.execPath)] };
  const built = await run(['node', '.ci/build.mjs', '--types'], place);
  if (built.code !== 0) throw new TrialFailed(`the package cannot be built:\n${built.said}`, 'npm run types');
  const { code, said } = await run(
    ['npm', 'pack', '--ignore-scripts', '--json', '--loglevel=silent', '--pack-destination', folder],
    place,
  );
  const [packed] = code === 0 ? (JSON.parse(said) as Packed[]) : [];
  if (packed === undefined) throw new TrialFailed(`npm pack failed:\n${said}`, 'npm pack --dry-run');
  const paths = packed.files.map(({ path }) => path);
  const missing = wanted.filter((path) => !paths.includes(path));
  const strange = paths.filter((path) => !belongs.some((pattern) => pattern.test(path)));
  console.log(
    `${packed.filename}: ${paths.length} files, ${megabytes(packed.size)} MB, ${megabytes(packed.unpackedSize)} MB unpacked`,
  );
  const wrong = [
    ...missing.map((path) => `${path} is missing`),
    ...strange.map((path) => `${path} does not belong there`),
    ...(packed.size > sizeMax ? [`it is larger than ${megabytes(sizeMax)} MB`] : []),
  ];
  if (wrong.length > 0)
    throw new TrialFailed(
      `the package is not as it should be: ${wrong.join(', ')}`,
      'see "files" in package.json',
    );
  return join(folder, packed.filename);
}

const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(2);
