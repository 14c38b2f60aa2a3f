import type { Upload } from '../../../src/tools/attachments/upload.ts'
import { gif, jpeg, png, webp } from './images.ts'
import { pdf } from './pdf.ts'
import { office } from './zip.ts'

const vendor = 'application/vnd.openxmlformats-officedocument'

/** One valid file of each accepted type, with the type that must be detected. */
export const accepted: readonly (readonly [upload: Upload, found: { readonly mime: string; readonly [key: string]: unknown }])[] = [
  [
    { name: 'a.png', mime: 'image/png', content: png({ width: 7, height: 3 }) },
    { mime: 'image/png', width: 7, height: 3 },
  ],
  [
    { name: 'interlaced.png', content: png({ width: 9, height: 11, interlaced: true }) },
    { mime: 'image/png', width: 9, height: 11 },
  ],
  [
    { name: 'a.jpg', mime: 'image/jpeg', content: jpeg() },
    { mime: 'image/jpeg', width: 8, height: 8 },
  ],
  [
    { name: 'padded.jpg', content: Buffer.concat([jpeg(), Buffer.alloc(40)]) },
    { mime: 'image/jpeg', width: 8, height: 8 },
  ],
  [
    { name: 'a.gif', content: gif({ width: 4, height: 2, frames: 3 }) },
    { mime: 'image/gif', width: 4, height: 2 },
  ],
  [
    { name: 'a.webp', content: webp({ width: 30, height: 50 }) },
    { mime: 'image/webp', width: 30, height: 50 },
  ],
  [
    { name: 'large.webp', content: webp({ width: 300, height: 500, extended: true }) },
    { mime: 'image/webp', width: 300, height: 500 },
  ],
  [
    { name: 'a.pdf', mime: 'application/pdf', content: pdf(['one', 'two']) },
    { mime: 'application/pdf', page_count: 2 },
  ],
  [{ name: 'a.docx', content: office('docx') }, { mime: `${vendor}.wordprocessingml.document` }],
  [{ name: 'a.xlsx', mime: 'application/octet-stream', content: office('xlsx') }, { mime: `${vendor}.spreadsheetml.sheet` }],
  [
    { name: 'a.pptx', content: office('pptx', [{ name: 'ppt/media/p.png', content: png(), stored: true }]) },
    { mime: `${vendor}.presentationml.presentation` },
  ],
  [{ name: 'a.txt', content: 'Grüße' }, { mime: 'text/plain' }],
  [{ name: 'a.md', mime: 'text/plain', content: '# Title' }, { mime: 'text/markdown' }],
  [{ name: 'a.csv', mime: 'application/vnd.ms-excel', content: 'a,b\n1,2\n' }, { mime: 'text/csv' }],
  [{ name: 'a.json', mime: 'application/json', content: '{}' }, { mime: 'application/json' }],
  [{ name: 'a.html', content: '<!doctype html><script>1</script>' }, { mime: 'text/html' }],
  [{ name: 'a.xml', content: '<a/>' }, { mime: 'application/xml' }],
  [{ name: 'a.yaml', content: 'a: 1' }, { mime: 'application/yaml' }],
  [{ name: 'a.ts', mime: 'video/mp2t', content: 'export const a = 1' }, { mime: 'text/plain' }],
  [{ name: 'Makefile', content: 'all:\n\techo hi\n' }, { mime: 'text/plain' }],
  [
    { name: 'wide.txt', content: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('wide', 'utf16le')]) },
    { mime: 'text/plain', charset: 'utf-16le' },
  ],
]
