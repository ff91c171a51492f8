/** No timer of the platform waits for longer; above this it fires at once instead of late. */
export const longestTimerMs = 2 ** 31 - 1
