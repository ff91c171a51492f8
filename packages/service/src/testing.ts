/**
 * The entry point for tests and notebooks that need the conversations of the service, for Node.
 *
 * @module rxspeech-service/testing
 */
export { inMemoryService, type InMemoryService, type InMemoryServiceOptions } from './testing/in-memory-service.js'
export { scriptedEngine, type ScriptedEngineOptions } from './testing/scripted-engine.js'
