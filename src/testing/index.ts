// The door for tests and notebooks, for Node.
export { drawMarbles, type DrawMarblesOptions } from './draw-marbles.js'
export { inMemoryService, type InMemoryService, type InMemoryServiceOptions } from './in-memory-service.js'
export { scriptedDial, type ScriptedPeer } from './scripted-dial.js'
export { scriptedEngine, type ScriptedEngineOptions } from './scripted-engine.js'
export type { MemoryLinkOptions } from '../transport/memory/memory.js'
