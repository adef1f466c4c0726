"""Claims about single modules of a submission, test_NN_modules.py, and the C programs that they
run.

    linking.py           links a program with files of the submission
    program.py           runs it, and tells what it found
    report_channel.py    the memory in which it reports
"""
