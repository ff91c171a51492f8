/** The `operation-result` of success on the dataflow stream. */
export const dataflowSuccess = 'success'

/** The `operation-result` of success on the recognizer's socket (PROTOCOL 4.2). */
export const recognizerSuccess = 'Success'

/** Whether an `operation-result` of either interface means success; the letter case does not matter (PROTOCOL 3.1). */
export const isSuccess = (operationResult: string): boolean => operationResult.toLowerCase() === dataflowSuccess
