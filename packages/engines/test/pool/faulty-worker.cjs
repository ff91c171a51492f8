// The real worker, which throws, hangs or exits after a number of frames of audio, as its settings say.
'use strict'
const { parentPort, workerData } = require('node:worker_threads')

const { fault, afterFrames } = workerData
const post = parentPort.postMessage.bind(parentPort)
let frames = 0

const breakDown = () => {
  if (fault === 'exits') process.exit(3)
  if (fault === 'hangs') for (;;);
  setImmediate(() => {
    throw new Error('A scripted fault of the worker.')
  })
}

parentPort.postMessage = (message) => {
  // What is decoded until the worker throws is lost with it, however fast it decodes.
  if (frames === afterFrames) return
  post(message)
  if (message.type !== 'progress') return
  frames += 1
  if (frames === afterFrames) breakDown()
}

require('../../dist/soundswallower/worker.js')
