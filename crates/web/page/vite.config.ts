// One page with everything in it: scripts, styles, icons. It is part of the source of the crate, so that cargo needs no node.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: process.env.CAROM_BUNDLE ?? "../bundle",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 1000,
  },
});
