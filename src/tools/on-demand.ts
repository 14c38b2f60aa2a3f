// Modules of Node that few agents need. They are loaded with their first use, because each of them takes milliseconds to load.

export const zlib = () => process.getBuiltinModule('node:zlib')
export const workerThreads = () => process.getBuiltinModule('node:worker_threads')
