import { fileURLToPath } from 'node:url'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** How the page is built. `scripts/build-page.ts` runs it and the server serves the result. */
export default defineConfig({
  root: here('.'),
  base: './', // the page may be mounted under any path, so it has only relative addresses
  plugins: [react(), tailwind()],
  resolve: { alias: { 'daybook/client': here('../src/client/index.ts') } },
  build: {
    outDir: here('./dist'),
    emptyOutDir: true,
    assetsDir: 'page',
    assetsInlineLimit: 0, // the page's Content-Security-Policy allows no data: fonts
    modulePreload: { polyfill: false },
    // The modules of `src` only define things. So those that only a lazy screen uses, such as the timeline, are loaded with that screen.
    rolldownOptions: { treeshake: { moduleSideEffects: (id) => !id.startsWith(here('../src/')) } },
    target: 'es2023',
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
})
