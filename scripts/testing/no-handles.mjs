// @ts-check
// Runs around every test file of the project `unit`. These share a process, so none may leave handles open.
import { createHook } from 'node:async_hooks'
import { afterAll } from 'vitest'

/** Kinds of asynchronous resources that only servers, child processes, workers and HTTP/2 connections have. */
const foreign = new Set([
  'TCPSERVERWRAP',
  'PIPESERVERWRAP',
  'UDPWRAP',
  'TLSWRAP',
  'HTTP2SESSION',
  'PROCESSWRAP',
  'WORKER',
])

/** @type {Set<string>} */
const opened = new Set()
const hook = createHook({
  init(_id, type) {
    if (foreign.has(type)) opened.add(type)
  },
}).enable()

afterAll(() => {
  hook.disable()
  if (opened.size === 0) return
  throw new Error(`This unit test opens ${[...opened].join(', ')}; name its file *.live.test.ts.`)
})
