import { fork } from 'node:child_process'

/** A child process that answers requests one after another. */
export const child = async (file, ...args) => {
  const process_ = fork(file, args, { execArgv: ['--expose-gc'] })
  const waiting = new Map()
  let last = 0
  process_.setMaxListeners(0)
  const ready = new Promise((resolve, reject) => {
    waiting.set(0, resolve)
    process_.once('exit', (code) => reject(new Error(`${file} ended with ${String(code)}`)))
  })
  process_.on('message', ({ id, answer }) => {
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })
  await ready
  return {
    request: (request, argument) =>
      new Promise((resolve, reject) => {
        last += 1
        waiting.set(last, resolve)
        process_.once('exit', () => reject(new Error(`${file} ended before it answered ${request}`)))
        process_.send({ id: last, request, argument })
      }),
    end: () => process_.disconnect(),
  }
}
