import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { packageRoot } from '../../src/runtime/package-root.js';

/**
 * A real browser for pages: the one ROSTERD_TEST_BROWSER names, else the Chromium that comes with the development
 * dependencies. Its own default arguments are not used: they switch web security off, which a test of a content
 * security policy must not do.
 */
export async function launchBrowser(): Promise<Browser> {
  const named = process.env.ROSTERD_TEST_BROWSER;
  if (named !== undefined && named !== '')
    return chromium.launch({ executablePath: named, args: ['--no-sandbox'] });
  const folder = await unpacked();
  const env = { ...process.env, ...librariesIn(folder) } as Record<string, string>;
  return chromium.launch({ executablePath: join(folder, 'chromium'), args: ['--no-sandbox'], env });
}

/** What a machine without a desktop lacks. */
const librariesIn = (folder: string) => ({
  LD_LIBRARY_PATH: [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  FONTCONFIG_FILE: join(folder, fontsFile),
});

const fontsFile = 'rosterd-fonts.conf';

/** The package's own file looks for fonts where the package would have unpacked; without any the browser dies. */
const fontsIn = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'fonts-cache')}</cachedir></fontconfig>
`;

/**
 * The package unpacks into the temporary folder and takes whatever is there by then for whole: of two test files
 * that begin together, one would start a browser the other is still writing. So each unpacks aside, and the first
 * to be done puts the whole in its place.
 */
async function unpacked(): Promise<string> {
  const manifest = await readFile(join(packageRoot, 'node_modules/@sparticuz/chromium/package.json'), 'utf8');
  const folder = join(tmpdir(), `rosterd-test-browser-${JSON.parse(manifest).version}-with-fonts`);
  if (existsSync(folder)) return folder;
  const aside = await mkdtemp(`${folder}-`);
  const script = `(await import('@sparticuz/chromium')).default.executablePath()`;
  const env = { ...process.env, TMPDIR: aside, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' };
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: packageRoot,
    env,
  });
  await writeFile(join(aside, fontsFile), fontsIn(folder));
  await rename(aside, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(aside, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  return folder;
}
