import { writeFileSync } from 'node:fs';
import { schemaPath } from '../../runtime/package-root.js';
import { renderDictionary } from './render.js';

// Run by hand (`npx tsx src/store/dictionary/write.ts`) after a change of the schema or of a meaning.
writeFileSync(schemaPath('dictionary.md'), renderDictionary());
