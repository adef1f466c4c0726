"""A grade in the formats of other programs: functions of the object of build/results/NN.json."""
