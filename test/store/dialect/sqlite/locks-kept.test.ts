import { existsSync, readFileSync, statSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { freshMirror } from '../../support/mirror.js';

test.runIf(existsSync('/proc/locks'))(
  'opening and closing another connection keeps the file locks of the first one',
  () => {
    const mirror = freshMirror();
    const locks = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter(
          (line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(mirror.file).ino} `),
        );
    const before = locks();
    expect(before).toHaveLength(1);
    const accepting = openSqlite(mirror.file, { busyTimeoutMs: 500 });
    onTestFinished(() => accepting.close());
    openSqlite(mirror.file, { readonly: true }).close();
    expect(locks()).toHaveLength(1);
  },
);
