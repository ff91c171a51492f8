// The real worker, which throws, hangs or exits after so many hops of audio, as its settings say.
'use strict'
const { parentPort, workerData } = require('node:worker_threads')

const { fault, afterHops } = workerData
const post = parentPort.postMessage.bind(parentPort)
let hops = 0

const breakDown = () => {
  if (fault === 'exits') process.exit(3)
  if (fault === 'hangs') for (;;);
  setImmediate(() => {
    throw new Error('A scripted fault of the worker.')
  })
}

parentPort.postMessage = (message) => {
  post(message)
  if (message.type !== 'taken') return
  hops += 1
  if (hops === afterHops) breakDown()
}

require('../../../../dist/cjs/service/engines/soundswallower/worker.js')
