// Sessions of the library with its default options.
import { dataflow } from '../../dist/cjs/grpc.js'
import { recognize } from '../../dist/cjs/index.js'
import { createSource } from './client-sources.mjs'

/** One operator for all sessions, as in an application. */
const operators = new Map()
const operatorOf = (key, create) => {
  if (!operators.has(key)) operators.set(key, create())
  return operators.get(key)
}

const createOperator = {
  websocket: ({ address, results, sampleRateHz }) =>
    recognize({
      url: address.ws,
      token: 'bench-token',
      model: results,
      format: { encoding: 'pcm', sampleRateHz, channels: 1 },
    }),
  grpc: ({ address, results, sampleRateHz }) =>
    dataflow({
      url: address.grpc,
      connection: { insecure: true },
      token: 'bench-token',
      tenant: 'Default',
      project: results,
      format: { encoding: 'pcm', sampleRateHz, channels: 1 },
    }),
}

/** The user of the results reads their texts. */
export const openWithLibrary = async (plan) => {
  const operator = operatorOf(plan.transport, () => createOperator[plan.transport](plan))
  const { source, push, end } = createSource[plan.source]()
  let characters = 0
  let subscription
  let onEnd
  await new Promise((resolve) => {
    subscription = operator(source).subscribe({
      next: (event) => {
        if (event.type === 'partial' || event.type === 'milestone') characters += event.text.length
        else if (event.type === 'connection' && event.state === 'streaming') resolve()
      },
      error: (error) => {
        throw error
      },
      complete: () => onEnd(),
    })
  })
  return {
    push,
    finish: async () => {
      const ended = new Promise((resolve) => (onEnd = resolve))
      end()
      await ended
      return characters
    },
    close: () => subscription.unsubscribe(),
  }
}
